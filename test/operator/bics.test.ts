/** The operator's commands for the directory of BICs. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'

const operator = await useOperator()
const { service, folder } = operator
const partner = await addPartner(service)

const example = fileURLToPath(new URL('../../examples/bic-directory/banks.csv', import.meta.url))
const printed = (...args: readonly string[]) => operator.printed('bic', ...args)

test('wrong calls and files are refused in one line, and nothing is loaded', async () => {
  const wrong = join(folder, 'wrong.csv')
  await writeFile(wrong, 'country,bank code,BIC,name\nDE,37040044,COBADEFF,Commerzbank\nDE,1,COBADEFF,Bank\n')
  const latin = join(folder, 'latin.csv')
  await writeFile(latin, Buffer.from('country,bank code,BIC,name\nDE,37040044,COBADEFF,M\u00fcller\n', 'latin1'))
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['show'], /No BIC directory was loaded/],
    [['load', '--from', wrong], /--staff is required/],
    [['load', '--from', wrong, '--staff', 'Sam'], /wrong\.csv, line 3: a bank code of DE has 8 letters and digits/],
    [['load', '--from', latin, '--staff', 'Sam'], /latin\.csv: .*utf-8/i],
    [['load', '--from', join(folder, 'none.csv'), '--staff', 'Sam'], /none\.csv: ENOENT/],
  ]
  for (const [args, says] of cases) assert.match(await operator.refused('bic', ...args), says)
})

test('a loaded file adds BICs to existing beneficiaries, is used by a running service, and is shown', async () => {
  const { partnerId, beneficiary } = partner
  const loaded = await printed('load', '--from', example, '--staff', 'Sam Staff')
  assert.deepEqual(
    [loaded.version, loaded.entries, loaded.added, loaded.isRepetition, loaded.completed],
    [1, 5, 5, false, 2],
  )
  assert.equal((await service.beneficiaries.get(partnerId, beneficiary.id)).bic, 'COBADEFFXXX')
  const dutch = { name: 'Grace Hopper', iban: 'NL91ABNA0417164300', currency: 'EUR' }
  assert.equal((await service.beneficiaries.create(partnerId, dutch)).bic, 'ABNANL2AXXX')
  const again = await printed('load', '--from', example, '--staff', 'Ada Other')
  assert.deepEqual([again.version, again.isRepetition, again.completed], [1, true, 0])
  assert.equal((await printed('show')).loadedBy, 'Sam Staff')
})
