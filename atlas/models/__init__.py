"""Models: embedders and the offline language tools, one file each."""
