import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { dayMs, minuteMs, newId, randomBytes } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { devicesMax } from './rules.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const newDevice = () => Buffer.from(randomBytes(32)).toString('base64url')

/** Signs a member in. Returns whether the device was new. */
async function comeFrom(partnerId: string, memberId: string, device?: string): Promise<boolean> {
  const { db, signIn } = service
  const client = { ip: '203.0.113.7', userAgent: 'Test browser', ...(device === undefined ? {} : { device }) }
  const opened = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, { ...client, factor: 'passkey' }))
  assert.ok(await signIn.session(opened.token))
  return opened.isNewDevice
}

const rowsOf = (partnerId: string) =>
  service.db.rows<{ readonly row: string }>(
    sql`select known_devices::text as row from sign_in.known_devices where partner_id = ${partnerId}`,
  )

test('a device is new once for each account, and its value is stored nowhere', async () => {
  const { partnerId } = await addPartner(service)
  const { partnerId: other } = await addPartner(service)
  const [member, colleague] = [newId(), newId()]
  const device = newDevice()
  assert.equal(await comeFrom(partnerId, member, device), true)
  assert.equal(await comeFrom(partnerId, member, device), false)
  assert.equal(await comeFrom(partnerId, colleague, device), true, 'another account on the same browser')
  assert.equal(await comeFrom(other, member, device), true, 'the account of another partner')
  assert.equal(await comeFrom(partnerId, member, newDevice()), true, 'a value that was made up')
  assert.equal(await comeFrom(partnerId, colleague, device), false)
  const rows = await rowsOf(partnerId)
  assert.equal(rows.length, 3)
  const value = Buffer.from(device, 'base64url').toString('hex')
  assert.ok(rows.every(({ row }) => !row.includes(device) && !row.includes(value)))
  const hashes = rows.map(({ row }) => /\\x[0-9a-f]{64}/.exec(row)?.[0])
  assert.equal(new Set(hashes).size, 3, 'two accounts of one browser have different hashes')
})

test('a client without a device counts as new and leaves no row', async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  assert.deepEqual([await comeFrom(partnerId, member), await comeFrom(partnerId, member)], [true, true])
  assert.deepEqual(await rowsOf(partnerId), [])
})

test('of ten sign-ins at once from one device, one is the first', async () => {
  const { partnerId } = await addPartner(service)
  const [member, device] = [newId(), newDevice()]
  const ends = await Promise.all(Array.from({ length: 10 }, () => comeFrom(partnerId, member, device)))
  assert.deepEqual(
    ends.filter((isNew) => isNew),
    [true],
  )
})

test('an account keeps the devices of its last sign-ins, for a year', async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  const { clock } = service
  const devices = Array.from({ length: devicesMax }, newDevice)
  const [first = '', second = ''] = devices
  for (const device of devices) {
    clock.advance(minuteMs)
    await comeFrom(partnerId, member, device)
  }
  clock.advance(minuteMs)
  assert.equal(await comeFrom(partnerId, member, first), false)
  const one = newDevice()
  assert.equal(await comeFrom(partnerId, member, one), true)
  assert.equal((await rowsOf(partnerId)).length, devicesMax)
  assert.equal(await comeFrom(partnerId, member, first), false, 'used a moment ago')
  assert.equal(await comeFrom(partnerId, member, second), true, 'used the longest ago')
  clock.advance(364 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), false)
  clock.advance(364 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), false, 'each sign-in renews the year')
  assert.equal((await rowsOf(partnerId)).length, 1, 'those of more than a year ago were forgotten')
  clock.advance(365 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), true)
})

test('a clock that went back does not lose the device that signs in', async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  const { clock } = service
  clock.advance(minuteMs)
  for (let count = 0; count < devicesMax; count++) await comeFrom(partnerId, member, newDevice())
  clock.advance(-minuteMs)
  const device = newDevice()
  assert.equal(await comeFrom(partnerId, member, device), true)
  assert.equal(await comeFrom(partnerId, member, device), false)
})

test('a member who is forgotten has no device', async () => {
  const { partnerId } = await addPartner(service)
  const [member, colleague, device] = [newId(), newId(), newDevice()]
  for (const id of [member, colleague]) await comeFrom(partnerId, id, device)
  const { db, signIn } = service
  await db.transaction((tx) => signIn.endAll(tx, partnerId, member))
  assert.equal(await comeFrom(partnerId, member, device), false, 'sessions end, and the device stays known')
  await db.transaction((tx) => signIn.forget(tx, partnerId, member))
  assert.equal((await rowsOf(partnerId)).length, 1, 'that of the colleague')
  assert.equal(await comeFrom(partnerId, member, device), true)
})
