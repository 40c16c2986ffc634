import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createManualClock } from '../../../../test/support/clock.ts'
import { dayMs } from '../../kernel/index.ts'
import { createSessions } from './server.ts'

const folder = mkdtempSync(join(tmpdir(), 'partner-payments-sessions-'))
after(() => rmSync(folder, { recursive: true }))

test('sessions have their last state after a restart, and sessions that ended long ago are removed', () => {
  const file = join(folder, 'sessions.jsonl')
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const about = { kinds: ['Document'], returnUrl: null, webhookUrl: 'http://127.0.0.1/hook' } as const
  const first = createSessions({ clock, file })
  const old = first.start({ ...about, reference: 'old', subject: { fullName: 'Ada Lovelace' } })
  clock.advance(60 * dayMs)
  const recent = first.start({ ...about, reference: 'recent', subject: { fullName: 'Grace Hopper' } })
  assert.equal(first.decide(recent.session, 'approve')?.status, 'Approved')
  appendFileSync(file, '{"session":"half')
  const second = createSessions({ clock, file })
  assert.deepEqual([second.find(old.session)?.status, second.find(recent.session)?.status], ['Open', 'Approved'])
  assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 2)
  clock.advance(60 * dayMs)
  const third = createSessions({ clock, file })
  assert.deepEqual([third.find(old.session), third.find(recent.session)?.version], [undefined, 2])
  assert.ok(!readFileSync(file, 'utf8').includes('Lovelace'))
  assert.equal(third.start({ ...about, reference: 'recent', subject: {} }).session, recent.session)
})
