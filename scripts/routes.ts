/** `npm run routes`: writes docs/api.md from the route table. */
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { serverDomains } from '../src/domains/registry.ts'
import { apiDocument } from './routes/document.ts'

const file = fileURLToPath(new URL('../docs/api.md', import.meta.url))
const routes = serverDomains.flatMap((domain) => domain.routes ?? [])
await writeFile(file, await apiDocument(routes, file))
