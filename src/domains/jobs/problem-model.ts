/** What is wrong with a job: where, and what would be right. */

/** A job with more faults than this has one cause for them. */
export const problemsMax = 100

/** `TaskGroups[0].Tasks[1].Driver`, and one sentence without its subject. */
export type Problem = { readonly path: string; readonly text: string }

/** All that is found, up to the bound, and whether there was more. */
export class Problems {
  readonly #found: Problem[] = []
  #more = 0

  add(path: string, text: string): void {
    if (this.#found.length < problemsMax) this.#found.push({ path, text })
    else this.#more += 1
  }

  /** For people, in the order in which they were found. */
  texts(most = problemsMax): readonly string[] {
    const texts = this.#found
      .slice(0, most)
      .map(({ path, text }) => `${path === '' ? 'the job' : path} ${text}`)
    const more = this.count - texts.length
    return more === 0 ? texts : [...texts, `and ${more} more`]
  }

  /** Those beyond the bound too. */
  get count(): number {
    return this.#found.length + this.#more
  }

  get isEmpty(): boolean {
    return this.count === 0
  }
}

export function memberPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
