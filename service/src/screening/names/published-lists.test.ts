/** Names of the published lists in their original script, and common names in other scripts than Latin. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allFakers } from '@faker-js/faker'
import { readPublished, withoutPublished } from '../../../../test/support/screening/published.ts'
import { scoreMin } from '../rules.ts'
import { createNameIndex } from './index-of-names.ts'

const isLatin = (text: string): boolean => !/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(text)
const variantsMax = 50
/** Percent of persons in Arabic letters found at least. */
const arabicFloor = 94
/** False hits of 50 names at most. The lists have many Chinese, Korean and Arabic names, and few syllables distinguish them. */
const hitsMax = { ar: 2, zh_CN: 2, ko: 4, ru: 1 } as const

test(
  'persons are found by their names in Arabic letters; common names in other scripts are hit rarely',
  {
    skip: withoutPublished,
  },
  async () => {
    const entries = (await readPublished()).filter(({ kind }) => kind === 'person' || kind === 'organisation')
    const names = entries.flatMap((entry) =>
      entry.names.filter(({ text }) => isLatin(text)).map(({ text }) => ({ entry, text })),
    )
    const index = await createNameIndex(names, () => Promise.resolve())
    const arabic = entries.flatMap((of) => {
      const text = of.names.find(
        (name) => /\p{Script=Arabic}/u.test(name.text) && !/\p{Script=Latin}/u.test(name.text),
      )?.text
      return of.kind === 'person' && text !== undefined ? [{ of, text }] : []
    })
    const step = Math.max(1, Math.floor(arabic.length / variantsMax))
    const all = arabic.filter((_, at) => at % step === 0)
    assert.ok(all.length >= 40, `${all.length} variants`)
    const missed = all.filter(({ text, of }) => !index.search(text, scoreMin).some(({ entry }) => entry === of))
    const found = (100 * (all.length - missed.length)) / all.length
    assert.ok(found >= arabicFloor, `${found.toFixed(1)} % found; missed ${missed.map(({ text }) => text).join('; ')}`)
    for (const [locale, max] of Object.entries(hitsMax)) {
      const faker = allFakers[locale as keyof typeof hitsMax]
      const { person } = faker
      faker.seed(1)
      const common = Array.from({ length: 50 }, () => {
        const [given, family] = [person.firstName(), person.lastName()]
        // Chinese and Korean names have the family name first, and no space.
        return locale === 'ko' || locale === 'zh_CN' ? `${family}${given}` : `${given} ${family}`
      })
      const hit = common.filter((name) => index.search(name, scoreMin).length > 0)
      assert.ok(hit.length <= max, `${locale}: ${hit.join('; ')}`)
    }
  },
)
