import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewOf } from '../../../../test/support/console-pages.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { StepConflict } from '../../cases/index.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type OwnedItem, refusalText, waitingTable } from './things.ts'

test("a refusal reports in the reader's language and zone what another person did", () => {
  const at = new Date('2026-11-24T23:30:00Z')
  const owned = new StepConflict('owned', 'Ada has it since 2026-11-24T23:30:00.000Z.', { who: 'Ada', at })
  const shown = (language: ConsoleView['language'], zone: string | undefined, error: Refusal = owned) => {
    const text = refusalText({ language, zone } as ConsoleView, error)
    return (typeof text === 'string' ? text : text.html).replaceAll(/<[^>]*>/g, '').replaceAll('\u202f', ' ')
  }
  assert.equal(shown('en', undefined), 'Ada has had it since Nov 24, 2026, 11:30 PM UTC.')
  assert.equal(shown('de', 'Europe/Berlin'), 'Ada ist zuständig seit 25.11.2026, 00:30.')
  assert.match(shown('de', undefined, new StepConflict('handedBack', 'It was handed back.', {})), /zurückgegeben/)
  assert.equal(shown('de', undefined, new Refusal('validation_failed', 'Choose an action.')), 'Choose an action.')
})

test('a row of the queue names the list and the score of a hit, and the amount of a payout', () => {
  const waits = { partnerId: 'p1', subject: 's1', owner: null, lastNote: null } as const
  const cells = (
    thing: Pick<OwnedItem, 'kind' | 'why' | 'detail' | 'score' | 'money'>,
    language: ConsoleView['language'],
  ) => waitingTable(viewOf(language), [{ ...waits, ...thing }], new Map()).html.replaceAll(/\s*<[^>]*>\s*/g, ' ')
  const hit = { kind: 'hit', why: 'hit', detail: 'un', score: 100 } as const
  assert.match(cells(hit, 'en'), / List UN, score 100 /)
  assert.match(cells(hit, 'de'), / Liste UN, Wert 100 /)
  assert.match(cells({ ...hit, detail: 'countries' }, 'en'), / List Countries, score 100 /)
  const payout = { kind: 'payout', why: 'payoutByRule', detail: 'Pending' } as const
  const money = { amount: 123_450n, currency: 'EUR' } as const
  assert.match(cells({ ...payout, money }, 'en'), /1,234\.50 EUR +Pending/)
})
