/** Of clusters and jobs that name none. */
export const defaultRegion = 'global'
