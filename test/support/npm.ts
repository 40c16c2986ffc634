/** Runs npm and other programs as a partner would, and finds the versions of Node on this machine. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Environment without the settings of the `npm` and the `node` that run the test, but for the folder of compiled code. */
const ownEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_(?!COMPILE_CACHE$))/i.test(name)),
)
const windows = process.platform === 'win32'

/** Runs a program with the Node of this test in the path, and returns its output. */
export function run(command: string, args: readonly string[], cwd: string): string {
  const env = { ...ownEnv, PATH: `${dirname(process.execPath)}${delimiter}${ownEnv.PATH ?? ''}` }
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: 'pipe', shell: windows })
}

const versionOf = (node: string) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()

function isSupported(version: string): boolean {
  const [, major = 0, minor = 0] = /^v(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 20 || (Number(major) === 20 && Number(minor) >= 3)
}

/** The Node of this test, and the first in the path outside of `node_modules`, if the SDK supports it. */
export function nodes(): readonly { readonly node: string; readonly version: string }[] {
  const found = (ownEnv.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules') && path !== dirname(process.execPath))
    .map((path) => join(path, windows ? 'node.exe' : 'node'))
    .find((path) => existsSync(path))
  const candidates = [process.execPath, ...(found === undefined ? [] : [found])]
  return candidates.map((node) => ({ node, version: versionOf(node) })).filter(({ version }) => isSupported(version))
}
