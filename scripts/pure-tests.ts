/** Finds test files that need no server, process or browser, by following their imports through the repository. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const importPattern = /(?:\bfrom|\bimport\(?)\s*'(?<target>[^']+)'/g
const packages: Readonly<Record<string, string>> = {
  '@partner-payments/wire': 'wire/src/index.ts',
  '@partner-payments/sdk': 'sdk/src/index.ts',
}
/** Imports that make a test impure. Tests that need a server import one of them. */
const impure: ReadonlySet<string> = new Set(['node:child_process', 'node:cluster', 'test/support/postgres.ts'])

/** Selects the pure files. Paths are relative to `root`. */
export function pureTests(root: string, files: readonly string[]): readonly string[] {
  const importsOf = new Map<string, readonly string[]>()
  const read = (file: string): readonly string[] => {
    const known = importsOf.get(file)
    if (known) return known
    const path = join(root, file)
    const targets =
      existsSync(path) && /\.m?[jt]s$/.test(file) ? readFileSync(path, 'utf8').matchAll(importPattern) : []
    const found = [...targets].map(({ groups }) => {
      const target = groups?.['target'] ?? ''
      return target.startsWith('.') ? join(dirname(file), target) : (packages[target] ?? target)
    })
    importsOf.set(file, found)
    return found
  }
  const reaches = (file: string): boolean => {
    const seen = new Set([file])
    for (const next of seen) {
      if (impure.has(next)) return true
      for (const target of read(next)) seen.add(target)
    }
    return false
  }
  return files.filter((file) => !reaches(file))
}
