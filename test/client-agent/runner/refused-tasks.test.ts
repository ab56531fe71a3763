/** Tasks that are not started: what they need is not there, or their driver cannot do what their configuration says. */
import t from 'tap'
import { mock, setting, shell } from './tasks.ts'
import { startedRunner } from './server-stand-in.ts'

t.test('what a task needs and is not there is named', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder, drivers: ['mock_driver'] })
  const mounts = { ...mock({})[0], VolumeMounts: [{ Volume: 'v', Destination: '/x' }] }
  const failures = [
    { id: servers.place(1, 'batch', [mounts]), text: /mounts no volumes/ },
    { id: servers.place(2, 'batch', shell('true')), text: /no driver "raw_exec"/ },
    { id: servers.place(3, 'batch', [{ ...mock({})[0], Name: '..' }]), text: /may not be called/ },
  ]
  for (const { id, text } of failures) {
    const { tasks } = await servers.becomes(id, 'failed')
    const event = tasks[0]?.events.find(({ type }) => type === 'Setup Failure')
    t.match(event?.displayMessage, text)
  }
})

t.test(
  'a task whose config its driver cannot do fails its validation, and is not tried again',
  async (t) => {
    const { folder, servers } = await setting(t)
    await startedRunner(t, servers, { folder, drivers: ['mock_driver', 'raw_exec'] })
    const failures = [
      {
        id: servers.place(1, 'batch', mock({ run_for: 'long' })),
        text: /run_for must be a duration/,
      },
      { id: servers.place(2, 'batch', mock({ image: 'x' })), text: /mock_driver knows no image/ },
      {
        id: servers.place(3, 'batch', [{ ...shell('')[0], Name: 'main', Config: {} }]),
        text: /needs command/,
      },
    ]
    for (const { id, text } of failures) {
      const { tasks } = await servers.becomes(id, 'failed')
      const [refused, over] = tasks[0]?.events.slice(-2) ?? []
      t.match(refused, { type: 'Failed Validation', displayMessage: text })
      t.match(over, { type: 'Not Restarting' })
    }
  },
)
