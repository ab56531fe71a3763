/** fast-check with this run's seed, which a failure prints. `.dependency-cruiser.mjs` has all tests take it from here. */
import fc from 'fast-check'
import { seed } from './randomness.ts'

fc.configureGlobal({ seed })

export default fc
