"""The commands, a module for each family; the catalog names them and imports one only when it is called."""
