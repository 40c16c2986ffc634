/** The tables of the modulus check: loaded by a command, and used for the next payee. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'

const { service, folder, run } = await useOperator()
const partnerId = (await addPartner(service)).partnerId

/** Weights of our own: the standard check of a range, and a check with a substitute. */
const weights = [
  '400000 499999 MOD10 0 0 0 0 0 0 7 1 3 7 1 3 7 1',
  '938600 938699 MOD11 0 0 0 0 0 1 0 0 0 0 0 0 0 0 5',
].join('\r\n')
const file = async (name: string, text: string) => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}
const load = (...words: readonly string[]) => run('sort-codes', 'load', ...words, '--staff', 'Sam Staff')
const payee = (sortCode: string, accountNumber: string) =>
  service.beneficiaries.create(partnerId, { name: 'Grace Hopper', currency: 'GBP', sortCode, accountNumber })
const refused = async (...account: readonly [string, string]) =>
  assert.rejects(
    payee(...account),
    (error: {
      readonly code: string
      readonly errors: readonly { readonly pointer: string; readonly message: string }[]
    }) => {
      assert.equal(error.code, 'validation_failed')
      assert.equal(error.errors[0]?.pointer, '/accountNumber')
      assert.match(String(error.errors[0]?.message), /does not belong to the sort code/)
      return true
    },
  )

test('without a table every well-formed account number is accepted', async () => {
  await payee('40-00-00', '11111112')
  const { stderr } = await run('sort-codes', 'show')
  assert.equal(stderr, 'operator: No table of the modulus check was loaded.\n')
})

test('with a table a number that does not belong to its sort code is refused, with a pointer', async () => {
  const loaded = await load(
    '--from',
    await file('weights.txt', weights),
    '--substitutes',
    await file('substitutes.txt', '938600 938617\n'),
  )
  assert.deepEqual([loaded.code, loaded.stderr], [0, ''])
  const { version, ranges, substitutes, loadedBy, isRepetition } = JSON.parse(loaded.stdout) as Record<string, unknown>
  assert.deepEqual(
    { version, ranges, substitutes, loadedBy, isRepetition },
    { ...{ version: 1, ranges: 2, substitutes: 1 }, loadedBy: 'Sam Staff', isRepetition: false },
  )
  // 7 + 1 + 3 + 7 + 1 + 3 + 7 + 2 = 31.
  await refused('40-00-00', '11111112')
  const { domesticAccount } = await payee('40-00-00', '1000009')
  assert.equal(domesticAccount, 'GBDSC400000/01000009')
  await payee('50-00-00', '11111112')
  await payee('93-86-00', '00000040')
  await refused('93-86-00', '00000030')
})

test('loading the same files again changes nothing, concurrent loads make two versions, and a wrong file is refused', async () => {
  const [from, substitutes] = [join(folder, 'weights.txt'), join(folder, 'substitutes.txt')]
  const again = await load('--from', from, '--substitutes', substitutes)
  assert.equal((JSON.parse(again.stdout) as { isRepetition: boolean }).isRepetition, true)
  const bad = await load('--from', await file('bad.txt', `${weights}\n400000 MOD10`))
  assert.deepEqual([bad.code, bad.stderr], [1, 'operator: line 3: needs two sort codes, the lower first\n'])
  await refused('40-00-00', '11111112')
  const others = await Promise.all(
    ['500000', '600000'].map(async (to) =>
      load('--from', await file(`${to}.txt`, `400000 ${to} MOD10 0 0 0 0 0 0 0 0 0 0 0 0 0 1`)),
    ),
  )
  assert.deepEqual(others.map(({ stdout }) => (JSON.parse(stdout) as { version: number }).version).toSorted(), [2, 3])
  await payee('40-00-00', '11111110')
  await refused('40-00-00', '11111112')
  const shown = JSON.parse((await run('sort-codes', 'show')).stdout) as { version: number; ranges: number }
  assert.deepEqual([shown.version, shown.ranges], [3, 1])
})
