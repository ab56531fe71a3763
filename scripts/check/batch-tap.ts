/** What a test file of a batch gets when it imports tap: the file's own subtest, while that one runs. */
import root, { type Test } from 'tap'

let current: Test = root

export function become(test: Test): void {
  current = test
}

const ofCurrent: ProxyHandler<Test> = {
  get(_, name) {
    const value: unknown = Reflect.get(current, name)
    // Its methods know their object by private fields, which a proxy has not.
    return typeof value === 'function' ? (value.bind(current) as unknown) : value
  },
  set: (_, name, value) => Reflect.set(current, name, value),
}

export { root }
export default new Proxy<Test>(root, ofCurrent)
export * from 'tap'
