/** Scheduling: which node runs what. */
import { defineDomain } from '../domain.ts'
import { appliedCommands } from '../sessions/services.ts'
import { observe } from './observed-commands.ts'
import { startScheduling } from './scheduling.ts'

export const schedulingDomain = defineDomain({
  name: 'scheduling',
  duties: [
    {
      name: 'scheduling',
      start: ({ service, log, ...given }) => {
        const applied = service(appliedCommands)
        return startScheduling({
          ...given,
          log: log.named('scheduling'),
          observe: (saw) =>
            observe((command, listener) => applied.onCommand(command, listener), saw),
        })
      },
    },
  ],
})
