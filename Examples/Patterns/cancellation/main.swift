// One token for a job, and a child token for each part of it. In `async` code, cancelling the task cancels the token.

import InflightPatterns

let job = CancellationToken()
let parts = (1...2).map { _ in job.makeChild() }
for (index, part) in parts.enumerated() {
    part.onCancel { print("part \(index + 1) stops") }
}
parts[1].cancel()
print("the job is cancelled:", job.isCancelled)
job.cancel()
print("part 1 is cancelled:", parts[0].isCancelled)
job.onCancel { print("who comes late is called at once") }

let task = Task {
    await CancellationToken.withTask { token in
        await Bridge.wait { cancelled in token.onCancel { cancelled.open() } }
        return "the work has stopped"
    }
}
task.cancel()
print(await task.value)

// Prints:
// part 2 stops
// the job is cancelled: false
// part 1 stops
// part 1 is cancelled: true
// who comes late is called at once
// the work has stopped
