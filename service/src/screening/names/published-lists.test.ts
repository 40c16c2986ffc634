/** Recall of each form of the names of published lists, with floors a little below bench/screening-lists.ts. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { samplesFolder } from '../../../../test/support/samples.ts'
import { commonNames } from '../../../../test/support/screening/common-names.ts'
import { createRandom } from '../../../../test/support/screening/corpus.ts'
import { readListed, type RealEntry, realVariants } from '../../../../test/support/screening/real-variants.ts'
import { scoreMin } from '../rules.ts'
import { createNameIndex } from './index-of-names.ts'

const folder = join(samplesFolder ?? '', 'sanctions')
const skip =
  samplesFolder === undefined || !existsSync(folder) ? 'SAMPLES_DIR does not name the published lists' : false

/** Percent found at least. README.md says what is below 97. */
const floors: Readonly<Record<string, number>> = {
  'first given name of two': 97,
  'first given name of three or more': 97,
  'Spanish: given name, first surname': 97,
  'Spanish: two given names, first surname': 97,
  'Spanish: first of two, first surname': 97,
  'other order': 97,
  'typing error': 97,
  Cyrillic: 97,
  'Arabic, person': 94,
  'company without legal form': 97,
  'company, other legal form': 97,
  'company, typing error': 94,
}
const variantsMax = 50
/** False hits of 50 names at most; one in the other countries. */
const hitsMax: Readonly<Record<string, number>> = { Arabic: 2, China: 2, Korea: 4 }

test('each form of the names of published lists is found, and common names are hit rarely', { skip }, async () => {
  const entries = await readListed(folder)
  const names = entries.flatMap((entry) => entry.names.map((text) => ({ entry, text })))
  const index = await createNameIndex<RealEntry>(names, () => Promise.resolve())
  const byForm = Map.groupBy(realVariants(createRandom(1), entries), ({ form }) => form)
  for (const [form, floor] of Object.entries(floors)) {
    const every = byForm.get(form) ?? []
    const step = Math.max(1, Math.floor(every.length / variantsMax))
    const all = every.filter((_, at) => at % step === 0)
    assert.ok(all.length >= 40, `${form}: ${all.length} variants`)
    const missed = all.filter(({ text, of }) => !index.search(text, scoreMin).some(({ entry }) => entry === of))
    const found = (100 * (all.length - missed.length)) / all.length
    const texts = missed.slice(0, 10).map(({ text }) => text)
    assert.ok(found >= floor, `${form}: ${found.toFixed(1)} % found; missed ${texts.join('; ')}`)
  }
  for (const [country, all] of commonNames(1, 50)) {
    const hit = all.filter((name) => index.search(name, scoreMin).length > 0)
    assert.ok(hit.length <= (hitsMax[country] ?? 1), `${country}: ${hit.join('; ')}`)
  }
})
