/** Forms that were sent after the end of their session: who can open them, for how long, and how many are kept. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { keptFormMs, keptFormsMax } from './rules.ts'

const device = 'd'.repeat(43)
const text = 'amount=7500&reference=Invoice 4711'

suite('kept forms', async () => {
  const { signIn, db, clock, ...service } = await useModules()
  const { partnerId } = await addPartner({ ...service, signIn, db, clock })
  const open = async (memberId: string) => {
    const by = { ip: '203.0.113.7', userAgent: 'Test browser', device, factor: 'password' } as const
    const { token } = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, by))
    return { token, device }
  }
  const count = async (memberId: string) => {
    const [row] = await db.rows<{ readonly count: bigint }>(sql`
      select count(*) from sign_in.kept_forms where partner_id = ${partnerId} and member_id = ${memberId}`)
    return Number(row?.count)
  }
  const kept = async (by: Awaited<ReturnType<typeof open>>) => (await signIn.forms.keep(by, text)) ?? ''

  test('a form of an ended session is restored for its person after a new sign-in, until it is sent', async () => {
    const memberId = newId()
    const before = await open(memberId)
    clock.advance(16 * minuteMs)
    assert.equal(await signIn.session(before.token), undefined)
    const id = await kept(before)
    const after = await open(memberId)
    assert.equal(await signIn.forms.open(after, id), text)
    assert.equal(await signIn.forms.open(after, id), text, 'the page may be loaded again')
    await signIn.forms.forget(after, id)
    assert.equal(await signIn.forms.open(after, id), undefined)
    assert.equal(await count(memberId), 0)
  })

  test('a form is not restored for another person, another browser, a rested session or an unknown id', async () => {
    const [memberId, otherId] = [newId(), newId()]
    const id = await kept(await open(memberId))
    const [mine, others] = [await open(memberId), await open(otherId)]
    assert.equal(await signIn.forms.open(others, id), undefined)
    await signIn.forms.forget(others, id)
    assert.equal(await signIn.forms.open({ ...mine, device: 'e'.repeat(43) }, id), undefined)
    assert.equal(await signIn.forms.open(mine, newId()), undefined)
    assert.equal(await signIn.forms.open(mine, id), text)
    clock.advance(6 * minuteMs)
    assert.equal(await signIn.forms.open(mine, id), undefined, 'a session that has rested shows no money')
  })

  test('a form is not kept for an unknown session or one that its person ended', async () => {
    const memberId = newId()
    const by = await open(memberId)
    assert.equal(await signIn.forms.keep({ token: 'x', device }, text), undefined)
    const session = await signIn.session(by.token)
    await signIn.end(partnerId, memberId, session?.id ?? '')
    assert.equal(await signIn.forms.keep(by, text), undefined)
    assert.equal(await count(memberId), 0)
  })

  test('signing in with another browser does not lose the forms of this browser', async () => {
    const memberId = newId()
    const before = await open(memberId)
    clock.advance(16 * minuteMs)
    await open(memberId)
    assert.notEqual(await signIn.forms.keep(before, text), undefined)
  })

  test('a form expires after half an hour, and the sweep deletes it', async () => {
    const memberId = newId()
    const id = await kept(await open(memberId))
    clock.advance(keptFormMs - 1)
    const by = await open(memberId)
    assert.equal(await signIn.forms.open(by, id), text)
    await signIn.forms.sweep()
    assert.equal(await count(memberId), 1)
    clock.advance(1)
    assert.equal(await signIn.forms.open(by, id), undefined)
    assert.ok((await signIn.forms.sweep()) >= 1)
    assert.equal(await count(memberId), 0)
    assert.equal(await signIn.forms.sweep(), 0)
  })

  test('the newest forms of a person are kept, even if many are sent at the same time', async () => {
    const memberId = newId()
    const by = await open(memberId)
    await Promise.all(Array.from({ length: keptFormsMax + 5 }, () => kept(by)))
    const last = await kept(by)
    assert.equal(await count(memberId), keptFormsMax)
    assert.equal(await signIn.forms.open(by, last), text)
  })

  test('the stored form is sealed, and is deleted with the person', async () => {
    const memberId = newId()
    await kept(await open(memberId))
    const [row] = await db.rows<{ readonly row: string }>(
      sql`select kept_forms::text as row from sign_in.kept_forms where partner_id = ${partnerId} and member_id = ${memberId}`,
    )
    assert.ok(row !== undefined && !row.row.includes(Buffer.from('Invoice').toString('hex')))
    await db.transaction((tx) => signIn.forget(tx, partnerId, memberId))
    assert.equal(await count(memberId), 0)
  })
})
