import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { Overtaken } from '../../cases/index.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { refusalText } from './things.ts'

test('a page says what another person did in the language and the zone of its reader', () => {
  const at = new Date('2026-11-24T23:30:00Z')
  const owned = new Overtaken('owned', 'Ada has it since 2026-11-24T23:30:00.000Z.', { who: 'Ada', at })
  const shown = (language: ConsoleView['language'], zone: string | undefined, error: Refusal = owned) => {
    const text = refusalText({ language, zone } as ConsoleView, error)
    return (typeof text === 'string' ? text : text.html).replaceAll(/<[^>]*>/g, '').replaceAll('\u202f', ' ')
  }
  assert.equal(shown('en', undefined), 'Ada has had it since Nov 24, 2026, 11:30 PM UTC.')
  assert.equal(shown('de', 'Europe/Berlin'), 'Ada ist zuständig seit 25.11.2026, 00:30.')
  assert.match(shown('de', undefined, new Overtaken('handedBack', 'It was handed back.', {})), /zurückgegeben/)
  assert.equal(shown('de', undefined, new Refusal('validation_failed', 'Choose an action.')), 'Choose an action.')
})
