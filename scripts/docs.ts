/**
 * `npm run docs` writes the pages that are generated from tables in the code to `docs/generated/`, which is not committed. It starts a
 * database server for the schema page. docs/generated.md lists the pages.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Growth, growthPage } from '../bench/growth-report.ts'
import { differingDefaults } from '../service/src/app/derived-settings.ts'
import { differencesPage, permissionsPage, problemsPage } from '../service/src/edge/gateway/docs/pages.ts'
import { bankReasonsPage } from './generate/bank-reasons.ts'
import { commandsPage } from '../service/src/operator/printed.ts'
import { configurationPage } from './generate/configuration.ts'
import { lifecyclesPage } from './generate/lifecycles.ts'
import { liveSchema } from './generate/live-schema.ts'
import { paymentProfilesPage } from './generate/payment-profiles.ts'
import { scansPage } from './generate/scans.ts'

const growthFile = new URL('../bench/growth.json', import.meta.url)
const folder = fileURLToPath(new URL('../docs/generated/', import.meta.url))

const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  'bank-reasons.md': bankReasonsPage,
  'commands.md': commandsPage,
  'configuration.md': configurationPage,
  'growth.md': async () => growthPage(JSON.parse(await readFile(growthFile, 'utf8')) as Growth),
  'lifecycles.md': lifecyclesPage,
  'payment-profiles.md': paymentProfilesPage,
  'permissions.md': permissionsPage,
  'problems.md': problemsPage,
  'sandbox-and-production.md': () => differencesPage(differingDefaults()),
  'scans.md': scansPage,
  'schema.md': liveSchema,
}

await mkdir(folder, { recursive: true })
for (const [name, generate] of Object.entries(pages)) await writeFile(join(folder, name), await generate())
console.log(`wrote ${Object.keys(pages).join(', ')} to docs/generated`)
