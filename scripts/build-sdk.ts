/**
 * Builds the SDK package for Node 20: ES modules, CommonJS and type declarations. `npm pack` and `npm publish` run it in
 * the folder `sdk`. Inside this repository the TypeScript sources run directly, so the manifest of the repository exports
 * the sources. `prepack` replaces it by the manifest of the package, and `postpack` restores it.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const sdk = fileURLToPath(new URL('../sdk', import.meta.url))
const dist = join(sdk, 'dist')
const manifestFile = join(sdk, 'package.json')
/** The saved manifest of the repository, while the manifest of the package replaces it. */
const savedManifestFile = join(dist, 'repository-package.json')

/** An interrupted `npm pack` leaves the manifest of the package in place. */
function restoreManifest(): void {
  if (existsSync(savedManifestFile)) renameSync(savedManifestFile, manifestFile)
}

function build(): void {
  restoreManifest()
  rmSync(dist, { recursive: true, force: true })
  const typescript = createRequire(import.meta.url).resolve('typescript/package.json')
  const compiler = join(dirname(typescript), 'bin/tsc')
  for (const project of ['tsconfig.json', 'tsconfig.cjs.json'])
    execFileSync(process.execPath, [compiler, '-p', join(sdk, project)], { stdio: 'inherit' })
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')
}

function packageManifest(): string {
  const {
    scripts: _,
    exports: __,
    ...common
  } = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, unknown>
  const entry = (folder: string) => ({ types: `./dist/${folder}/index.d.ts`, default: `./dist/${folder}/index.js` })
  const manifest = {
    ...common,
    main: './dist/cjs/index.js',
    types: './dist/cjs/index.d.ts',
    exports: { '.': { import: entry('esm'), require: entry('cjs') }, './package.json': './package.json' },
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

function prepack(): void {
  build()
  copyFileSync(manifestFile, savedManifestFile)
  writeFileSync(manifestFile, packageManifest())
}

const commands: Readonly<Record<string, () => void>> = { build, prepack, postpack: restoreManifest }
const command = commands[process.argv[2] ?? 'build']
if (command === undefined) throw new Error(`usage: build-sdk.ts ${Object.keys(commands).join('|')}`)
command()
