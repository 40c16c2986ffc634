/**
 * `npm run generate` writes the derived files that are committed, because others read them from the repository: the OpenAPI
 * document, the SDK's sources and the plots of docs/performance.md. With `--check` it writes nothing, lists the stale files and
 * exits with status 1 if there are any. With `--examples` it first records the examples of the reference from a running service.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Growth, plots } from '../bench/growth-report.ts'
import { sdkOperations } from './generate/routes.ts'
import { sdkTypes } from './generate/types.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, examples: { type: 'boolean', default: false } },
})
if (values.examples) {
  const { recordExamples } = await import('../test/examples/record.ts')
  await writeFile(join(root, 'wire/examples.json'), await recordExamples())
}
// Reads the recorded examples when it is loaded.
const { openapi } = await import('./generate/openapi.ts')

const growth = JSON.parse(await readFile(join(root, 'bench/growth.json'), 'utf8')) as Growth
const plotFiles = Object.entries(plots(growth)).map(([path, text]) => [path, () => text] as const)

const outputs: Readonly<Record<string, () => string | Promise<string>>> = {
  'wire/openapi.json': openapi,
  'sdk/src/generated/types.ts': sdkTypes,
  'sdk/src/generated/operations.ts': sdkOperations,
  ...Object.fromEntries(plotFiles),
}

async function readCurrent(path: string): Promise<string | undefined> {
  try {
    return await readFile(join(root, path), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const stale: string[] = []
for (const [path, generate] of Object.entries(outputs)) {
  const text = await generate()
  if ((await readCurrent(path)) === text) continue
  stale.push(path)
  if (values.check) continue
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

if (values.check && stale.length > 0) {
  console.error(`stale files; run \`npm run generate\`:\n${stale.map((path) => `  ${path}`).join('\n')}`)
  process.exitCode = 1
} else console.log(stale.length === 0 ? 'generated files are up to date' : `wrote ${stale.join(', ')}`)
