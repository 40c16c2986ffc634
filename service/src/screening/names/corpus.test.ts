/** How many names of a corpus are found, and how many ordinary names are hit. bench/screening.ts does the same with a full list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createRandom,
  listedNames,
  type MadeName,
  ordinaryNames,
  variantsOf,
} from '../../../../test/support/screening/corpus.ts'
import { scoreMin } from '../rules.ts'
import { createNameIndex } from './index-of-names.ts'

const seeds = [1, 2, 3]

for (const seed of seeds)
  test(`95 % of misspelt, transliterated and reordered names are found, at under 1 % false hits (seed ${seed})`, async () => {
    const random = createRandom(seed)
    const names = listedNames(random, 4000)
    const listed = names.map((entry) => ({ entry, text: entry.text }))
    const index = await createNameIndex<MadeName>(listed, () => Promise.resolve())
    const variants = variantsOf(random, names, 1000)
    const missed = variants.filter(({ text, of }) => !index.search(text, scoreMin).some(({ entry }) => entry === of))
    const ordinary = ordinaryNames(random, 2000, names)
    const hit = ordinary.filter((text) => index.search(text, scoreMin).length > 0)
    const said = (some: readonly unknown[]) => `${some.length}: ${JSON.stringify(some.slice(0, 20))}`
    assert.ok(missed.length <= 0.05 * variants.length, `missed ${said(missed)}`)
    assert.ok(hit.length < 0.01 * ordinary.length, `false hits ${said(hit)}`)
  })
