"""What runs will cost, what they will tell, and which of them a budget is best spent on.

    targets     which reported numbers and claims a run would check
    data        shape, classes and samples of a data set, prepared here or not
    operations  what a job computes: floating-point operations, local steps, evaluations
    costs       hours of a job: as measured, or from its operations and the speed of this machine
    budget      the runs with the most checked numbers per hour
    plan        `fairfl plan`: all that in words and as CSV

Nothing here changes a number, and no job imports it.
"""
