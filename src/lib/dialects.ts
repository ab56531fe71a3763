/** Whose shapes an answer has where the paths of two products collide. */

/** The first is the default. */
export const dialects = ['nomad', 'consul'] as const
export type Dialect = (typeof dialects)[number]

export const [dialectDefault] = dialects
