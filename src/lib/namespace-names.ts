/** Namespaces that have a meaning of their own, by name. */

export const defaultNamespace = 'default'

/** In a request: all namespaces. Never a name. */
export const allNamespaces = '*'
