/** What `npm start -- --help` prints. Plain JavaScript that needs no package: it answers before anything is installed. */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The HTTP port of the first server. */
export const BASE_PORT = 4646

export const usage = `Usage: npm start -- [options]

  --servers N     1, 3 or 5 servers (default: as the data has, else 3)
  --clients N     client agents beside them, 0 to 8 (default: as the data has)
  --fresh         begin with empty servers; the cluster's key is kept
  --data DIR      where configurations, data and logs are kept (default: .muster)
  --base-port N   HTTP port of the first server (default: ${BASE_PORT})
  --tls           HTTPS, and TLS between all of them; the certificates are made in the data folder
  --config FILE   a configuration file for each of them, besides its own; repeatable
  --help          this text
`

const script = process.argv[1]
if (script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url)) {
  process.stdout.write(usage)
}
