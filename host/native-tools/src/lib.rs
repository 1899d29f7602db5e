//! Native tools for an agent that edits code.
