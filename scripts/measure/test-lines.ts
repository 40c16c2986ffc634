// Prints the lines of tests by folder, and how many stand before the first test of their file.

import { readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'

const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.ts'])
  .toString()
  .split('\0')
  .filter((file) => file.startsWith('test/') || file.endsWith('.test.ts'))

interface Count {
  files: number
  lines: number
  setup: number
}

const byFolder = new Map<string, Count>()
for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const first = lines.findIndex((line) => /^\s*(await )?(test|suite|describe|it)\(/.test(line))
  const folder = file.startsWith('test/') ? dirname(file) : dirname(file).split('/').slice(0, 4).join('/')
  for (const key of [folder, file.startsWith('test/') ? 'all of test/' : 'all beside the code', 'all']) {
    const count = byFolder.get(key) ?? { files: 0, lines: 0, setup: 0 }
    count.files += 1
    count.lines += lines.length
    count.setup += file.endsWith('.test.ts') && first > 0 ? first : 0
    byFolder.set(key, count)
  }
}

console.log('files   lines  before the first test')
for (const [folder, count] of [...byFolder].toSorted((left, right) => right[1].lines - left[1].lines)) {
  const numbers = [count.files, count.lines, count.setup].map((number, at) => String(number).padStart(at === 0 ? 5 : 8))
  console.log(`${numbers.join('')}  ${folder}`)
}
