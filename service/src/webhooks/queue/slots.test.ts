import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from './slots.ts'

/** Takes slots for endpoint queues with up to ten attempts each, until it gets no more. Returns how many. */
function takeAll(slots: ReturnType<typeof createSlots>, partnerId: string): number {
  let count = 0
  while (slots.mayTake(partnerId, (count % 10) + 1)) {
    slots.take(partnerId)
    count += 1
  }
  return count
}

test('one partner gets two thirds at most, and further partners a part of the rest', () => {
  const slots = createSlots(500)
  assert.equal(takeAll(slots, 'a'), 334)
  assert.ok(takeAll(slots, 'b') > 100)
  assert.ok(slots.free() > 40)
})

test('the last twentieth is for partners without an attempt in flight, one each', () => {
  const slots = createSlots(500)
  for (let partner = 0; partner < 10; partner += 1) takeAll(slots, `p${partner}`)
  assert.ok(slots.free() > 10, `${slots.free()} are free`)
  assert.deepEqual([slots.mayTake('p0', 0), slots.mayTake('new', 0)], [false, true])
  assert.equal(takeAll(slots, 'new'), 1)
})

test('an idle endpoint queue may start one attempt; a busy one waits for the share of its partner', () => {
  const slots = createSlots(12)
  assert.equal(takeAll(slots, 'a'), 8)
  assert.deepEqual([slots.mayTake('a', 8), slots.mayTake('a', 0)], [false, true])
  slots.release('a')
  assert.equal(slots.mayTake('a', 8), true)
  for (let i = 0; i < 5; i += 1) slots.take('b')
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [0, false])
})

test('a delivered attempt frees its slot, until as many as there are slots wait to be recorded', () => {
  const slots = createSlots(12)
  const takeAndDeliver = (partnerId: string) => {
    slots.take(partnerId)
    slots.beginRecording(partnerId)
  }
  for (let i = 0; i < 12; i += 1) takeAndDeliver('a')
  assert.deepEqual([slots.taken(), slots.free()], [0, 12])
  for (let i = 0; i < 12; i += 1) takeAndDeliver('b')
  assert.deepEqual([slots.taken(), slots.free(), slots.mayTake('c', 0)], [0, 0, false])
  slots.endRecording()
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [1, true])
})
