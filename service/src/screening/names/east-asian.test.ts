/** Names in Chinese and Korean characters find the spellings of lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latinReadings } from './east-asian.ts'
import { createNameIndex } from './index-of-names.ts'

const isFound = async (name: string, listed: string): Promise<boolean> => {
  const index = await createNameIndex([{ entry: listed, text: listed }], () => Promise.resolve())
  return index.search(name, 88).length > 0
}

test('each usual spelling is found', async () => {
  for (const [name, listed] of [
    ['习近平', 'XI Jinping'],
    ['王伟', 'WANG Wei'],
    ['曾庆红', 'ZENG Qinghong'],
    ['張志強', 'CHANG Chih Chiang'],
    ['金正恩', 'KIM Jong Un'],
    ['김정은', 'KIM Jong Un'],
    ['김정은', 'KIM Jong-un'],
    ['최룡해', 'CHOE Ryong Hae'],
    ['리병철', 'RI Pyong Chol'],
    ['김여정', 'KIM Yo Jong'],
    ['이민호', 'LEE Min Ho'],
    ['박지성', 'PARK Ji Sung'],
    ['박지성', 'PAK Ji Song'],
    ['박지성', 'BAG Jiseong'],
  ] as const)
    assert.ok(await isFound(name, listed), `${name}, ${listed}: ${latinReadings(name).join(';')}`)
})

test('another name is not', async () => {
  for (const [name, listed] of [
    ['李明', 'WANG Wei'],
    ['金正恩', 'KIM Yo Jong'],
    ['박지성', 'KIM Ji Song'],
  ] as const)
    assert.ok(!(await isFound(name, listed)), `${name}, ${listed}`)
})

test('a name without such signs stays as it is', () => {
  assert.deepEqual(latinReadings('Grace Hopper'), ['Grace Hopper'])
  assert.deepEqual(latinReadings(''), [''])
})
