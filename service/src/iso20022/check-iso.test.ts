/** The command that validates messages by an operator's schemas. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ownSchemas } from '../../../test/support/iso-schemas.ts'

const script = fileURLToPath(new URL('../../../scripts/check-iso.ts', import.meta.url))
const sample = fileURLToPath(new URL('samples/de-camt054-08-batch.xml', import.meta.url))

async function run(...args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...args])
    return { status: 0, output: stdout }
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string }
    return { status: code, output: stdout }
  }
}

test('the script checks generated messages of every kind, and reports a missing schema', async () => {
  const own = await run(ownSchemas)
  assert.equal(own.status, 0, own.output)
  assert.match(own.output, /pain\.001\.001\.09: 50 checked, 0 errors/)
  const folder = await mkdtemp(join(tmpdir(), 'schemas-'))
  const none = await run(folder)
  assert.equal(none.status, 1)
  assert.match(none.output, /no schema camt\.053\.001\.08\.xsd in the folder/)
})

test('a valid file passes, and an invalid amount is reported', async () => {
  const right = await run(ownSchemas, sample)
  assert.deepEqual([right.status, /batch\.xml: was read/.test(right.output)], [0, true], right.output)
  const path = join(await mkdtemp(join(tmpdir(), 'message-')), 'wrong.xml')
  await writeFile(path, (await readFile(sample, 'utf8')).replace('100.00', '100,00'))
  const wrong = await run(ownSchemas, path)
  assert.equal(wrong.status, 1)
  assert.match(wrong.output, /wrong\.xml: was read\n {2}an entry cannot be read, and waits alone: .*100,00/)
  assert.match(wrong.output, /1 checked, [1-9] errors/)
})
