"""Atlas: an agent's memory as a Git repository of Markdown files."""
