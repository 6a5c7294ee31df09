//! One file for each thing that a person or an agent does; they return data and print nothing.
