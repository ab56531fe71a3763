/** Evaluations: what scheduler workers take. */
import { defineDomain } from '../domain.ts'
import { evaluations } from './table.ts'

export const evaluationsDomain = defineDomain({ name: 'evaluations', tables: [evaluations] })
