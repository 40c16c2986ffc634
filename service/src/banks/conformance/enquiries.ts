/** Checks of `find`, and of empty lists. */
import assert from 'node:assert/strict'
import { newId } from '../../kernel/index.ts'
import type { Check } from './check.ts'

/** The settlement worker asks for each instruction under two ids, during an upgrade. */
const keysPerInstruction = 2

const many: Check = {
  title: 'find answers twice as many keys as a call has instructions, in order, with nothing for unknown ids',
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const [partnerId] = context.harness.partnerIds
    const { instructionsPerCallMax } = context.connector().limits
    const behaviours = ['settle', 'refuse', 'settle', 'settle', 'refuse'] as const
    const instructions = behaviours.slice(0, instructionsPerCallMax).map((behaviour) => context.instruction(behaviour))
    const outcomes = await context.instruct(instructions)
    const asked = Array.from({ length: instructionsPerCallMax * keysPerInstruction }, (_none, index) => {
      // Asks backwards, so that the order of the bank differs from the order of the question.
      const known = instructions.length - 1 - (index % (instructions.length + 1))
      const id = instructions[known]?.id ?? newId()
      return { key: { partnerId, id }, expected: outcomes[known] }
    })
    assert.deepEqual(
      await context.find(asked.map(({ key }) => key)),
      asked.map(({ expected }) => expected),
    )
  },
}

const ofAnotherPartner: Check = {
  title: 'find does not know an instruction under the id of another partner',
  needs: ['settle'],
  run: async (context) => {
    const [partnerId, other] = context.harness.partnerIds
    const own = context.instruction()
    const others = context.instruction('settle', { partnerId: other })
    await context.instruct([own, others])
    assert.deepEqual(
      await context.find([own, { partnerId: other, id: own.id }, others, { partnerId, id: others.id }]),
      [{ accepted: true }, undefined, { accepted: true }, undefined],
    )
    const notifications = await context.notificationsOf([own, others], 2)
    for (const instruction of [own, others]) {
      const found = notifications.find(({ subjectId }) => subjectId === instruction.id)
      assert.equal(found?.partnerId, instruction.partnerId, 'a notification names the partner of its instruction')
    }
  },
}

const empty: Check = {
  title: 'empty lists are answered with empty lists',
  needs: [],
  run: async (context) => {
    assert.deepEqual(await context.instruct([]), [])
    assert.deepEqual(await context.find([]), [])
    assert.deepEqual(await context.read(), [], 'without notifications a reading is empty')
    await context.acknowledge([])
  },
}

export const enquiryChecks: readonly Check[] = [many, ofAnotherPartner, empty]
