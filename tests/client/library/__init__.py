"""The library behind `import ask`."""
