import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBreaker } from './breaker.ts'

function createTimedBreaker() {
  let now = 0
  const breaker = createBreaker(() => now)
  const fail = (times: number) => {
    for (let at = 0; at < times; at += 1) breaker.failed()
  }
  return { ...breaker, fail, wait: (ms: number) => void (now += ms) }
}

test('five failed calls one after the other open the breaker; an answer between them starts the count again', () => {
  const { state, fail, answered } = createTimedBreaker()
  fail(4)
  assert.equal(state(), 'closed')
  answered()
  fail(4)
  assert.equal(state(), 'closed')
  fail(1)
  assert.equal(state(), 'open')
})

test('after a pause one call may try, and the pause doubles up to 30 seconds while it fails', () => {
  const { state, fail, wait } = createTimedBreaker()
  fail(5)
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    wait(seconds * 1000 - 1)
    assert.equal(state(), 'open', `${seconds} s`)
    wait(1)
    assert.equal(state(), 'half-open', `${seconds} s`)
    fail(1)
    assert.equal(state(), 'open')
  }
})

test('calls that were under way when it opened do not lengthen the pause', () => {
  const { state, fail, wait } = createTimedBreaker()
  fail(20)
  wait(1000)
  assert.equal(state(), 'half-open')
})

test('an answer closes it, and the next outage begins with the shortest pause', () => {
  const { state, fail, wait, answered } = createTimedBreaker()
  fail(5)
  wait(1000)
  fail(1)
  wait(2000)
  answered()
  assert.equal(state(), 'closed')
  fail(5)
  wait(1000)
  assert.equal(state(), 'half-open')
})
