/** A task that runs nothing and takes next to nothing, for as long as its job is wanted. */
export const mockTask = {
  Name: 'main',
  Driver: 'mock_driver',
  Config: { run_for: '1h' },
  Resources: { CPU: 1, MemoryMB: 10 },
  LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
}
