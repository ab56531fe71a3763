/** The kinds of work. Workers take the core kind always: it is the servers' own housekeeping. */
export const schedulerNames = ['service', 'batch', 'system', 'sysbatch', '_core'] as const
