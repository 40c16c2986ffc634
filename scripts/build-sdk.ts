/**
 * `npm run build -w sdk [folder]` builds the SDK package: JavaScript for Node 20 with type declarations, ready for
 * `npm pack`. Inside this repository the TypeScript sources run directly.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

type Manifest = { readonly version: string; readonly description: string }

const sdk = fileURLToPath(new URL('../sdk', import.meta.url))
const outDir = resolve(process.argv[2] ?? join(sdk, 'dist'))
const typescript = createRequire(import.meta.url).resolve('typescript/package.json')
const compiler = join(dirname(typescript), 'bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(sdk, 'tsconfig.json'), '--outDir', outDir], { stdio: 'inherit' })

const { version, description } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as Manifest
const manifest = {
  name: '@partner-payments/sdk',
  version,
  description,
  license: 'Apache-2.0',
  type: 'module',
  engines: { node: '>=20.3' },
  exports: { '.': { types: './index.d.ts', default: './index.js' } },
}
writeFileSync(join(outDir, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
for (const file of ['README.md', '../LICENSE']) copyFileSync(join(sdk, file), join(outDir, file.replace('../', '')))
