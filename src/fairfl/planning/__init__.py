"""What runs will cost, what they will tell, and which of them a budget is best spent on.

    targets     which reported numbers and claims a run would check
    downloads   where the files of a data set would come from
    estimate    seconds of jobs, from jobs that have run
    budget      the runs with the most checked numbers per hour
    plan        `fairfl plan`: all that in words and as CSV

Nothing here changes a number, and no job imports it.
"""
