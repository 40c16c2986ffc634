import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from './slots.ts'

/** Takes as much as it gets, endpoint queues of ten at once. */
function grab(slots: ReturnType<typeof createSlots>, partnerId: string): number {
  let took = 0
  while (slots.mayTake(partnerId, (took % 10) + 1)) {
    slots.take(partnerId)
    took += 1
  }
  return took
}

test('one partner has two thirds at most, and the next ones their part of the rest', () => {
  const slots = createSlots(500)
  assert.equal(grab(slots, 'a'), 334)
  assert.ok(grab(slots, 'b') > 100)
  assert.ok(slots.free() > 40)
})

test('greedy partners leave a twentieth to those with nothing under way, one attempt each', () => {
  const slots = createSlots(500)
  for (let partner = 0; partner < 10; partner += 1) grab(slots, `p${partner}`)
  assert.ok(slots.free() > 10, `${slots.free()} are free`)
  assert.deepEqual([slots.mayTake('p0', 0), slots.mayTake('new', 0)], [false, true])
  assert.equal(grab(slots, 'new'), 1)
})

test('an idle endpoint queue may have its first of what is left, a busy one waits for the share of its partner', () => {
  const slots = createSlots(12)
  assert.equal(grab(slots, 'a'), 8)
  assert.deepEqual([slots.mayTake('a', 8), slots.mayTake('a', 0)], [false, true])
  slots.release('a')
  assert.equal(slots.mayTake('a', 8), true)
  for (let i = 0; i < 5; i += 1) slots.take('b')
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [0, false])
})

test('what is delivered frees its place, until as many as there are places wait for their record', () => {
  const slots = createSlots(12)
  const deliver = (partnerId: string) => {
    slots.take(partnerId)
    slots.beginRecording(partnerId)
  }
  for (let i = 0; i < 12; i += 1) deliver('a')
  assert.deepEqual([slots.taken(), slots.free()], [0, 12])
  for (let i = 0; i < 12; i += 1) deliver('b')
  assert.deepEqual([slots.taken(), slots.free(), slots.mayTake('c', 0)], [0, 0, false])
  slots.endRecording()
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [1, true])
})
