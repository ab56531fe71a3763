/** UUIDs as text. */

export const uuidInAnyCase = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** As this program writes them, in lower case. */
export const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** In letters of either case, as clients write them. */
export function isUuid(text: string): boolean {
  return uuidInAnyCase.test(text)
}
