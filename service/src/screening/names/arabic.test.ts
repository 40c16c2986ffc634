/** A name in Arabic letters is compared by the places of its letters, and compounds in each way of writing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spellingCost } from './arabic-spelling.ts'
import { createNameIndex } from './index-of-names.ts'
import { likenessOf } from './spelling.ts'
import { formsOf, wordsOf } from './words.ts'

const scoreOf = async (name: string, listed: string): Promise<number> => {
  const index = await createNameIndex([{ entry: listed, text: listed }], () => Promise.resolve())
  return index.search(name, 1)[0]?.score ?? 0
}

test('an Arabic name finds its Latin spellings', async () => {
  for (const [name, listed] of [
    ['طارق عزيز', 'Tariq AZIZ'],
    ['طه ياسين رمضان الجزراوي', 'Taha Yassin Ramadan AL-JIZRAWI'],
    ['عبد القادر لاغوب', 'Abdelkader LAAGOUB'],
    ['عبدالقادر لاغوب', 'Abd al-Qadir LAAGOUB'],
    ['مطيع الله', 'MATIULLAH'],
    ['نور الدين الدريسي', 'Noureddine AL-DRISSI'],
    ['سليمان أبوغيث', 'Sulaiman Abo GHAITH'],
    ['ایوب بشیر', 'Ayyub BASHIR'],
    ['هدى صالـح', 'Huda SALIH'],
    ['محمود ﻛﺮﻴﻡ', 'Mahmoud KARIM'],
    ['عبد الرزاق لا لا', 'Abdul Razaq LALA'],
    ['اياد اغ غالي', 'Iyad Ag GHALI'],
    ['شمس الرحمن ظاهر', 'Shamsurrahman ZAHIR'],
    ['سيد محمد حقانی', 'Sayyed Mohammed HAQQANI'],
    ['س. سليمان', 'S. Sulaiman'],
  ] as const)
    assert.ok((await scoreOf(name, listed)) >= 88, `${name}, ${listed}: ${await scoreOf(name, listed)}`)
})

test('Arabic words with the same consonants are different names', async () => {
  for (const [name, listed] of [
    ['عمر سعيد', 'Maher ASSAD'],
    ['حسان هذيل', 'Hadil SHUAYHANAH'],
    ['مرعي القلال', 'Umar KECIL'],
    ['محمود الصغير', 'Muhammad AL-SUGAYER'],
    ['أمينة كريم', 'Amin KARIM'],
  ] as const)
    assert.ok((await scoreOf(name, listed)) < 88, `${name}, ${listed}: ${await scoreOf(name, listed)}`)
})

test('a letter costs nothing, a part of an edit, or an edit', () => {
  assert.equal(spellingCost('محمود', 'mahmoud', 2), 0)
  assert.equal(spellingCost('محمود', 'mahmad', 2), 1)
  assert.equal(spellingCost('محمود', 'mahmoudt', 2), 1)
  assert.equal(spellingCost('كمال', 'kamel', 2), 0.1)
  assert.equal(spellingCost('محمود', 'tariq', 1), Infinity)
  assert.equal(spellingCost('', '', 1), 0)
})

test('two Arabic words are compared by their letters', () => {
  assert.deepEqual(likenessOf('ٱراوي', 'راوي'), { how: 'equal', likeness: 1 })
  assert.equal(likenessOf('فليح', 'فليج')?.how, 'misspelt')
  assert.equal(likenessOf('حسن', 'حسين'), undefined)
})

test('a name of many compounds has a limited number of forms', () => {
  const name = Array.from({ length: 12 }, () => 'سيف الدين').join(' ')
  assert.equal(formsOf(wordsOf(name)).length, 8)
  assert.deepEqual(formsOf(wordsOf('بن')), [{ words: ['بن'], isJoined: false }])
})
