"""From a value to an artefact."""
