/** This server's metrics. Open to all, as Nomad's are: they contain no names and no data. */
import { Type } from 'typebox'
import { defineLocalMethod } from '../../rpc/method.ts'
import { metricsSource } from './services.ts'

const document = defineLocalMethod({
  kind: 'local',
  name: 'operator.metrics',
  ignoresToken: true,
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  run: async (context) => context.service(metricsSource).document(),
})

const text = defineLocalMethod({
  kind: 'local',
  name: 'operator.metricsText',
  ignoresToken: true,
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  run: (context) => context.service(metricsSource).text(),
})

export const metricsMethods = { document, text }
