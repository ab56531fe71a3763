/** The drivers that there are, by name: for a configuration, which needs nothing else of them. */
export const driverNames = ['docker', 'exec', 'mock_driver', 'raw_exec'] as const
export type DriverName = (typeof driverNames)[number]
